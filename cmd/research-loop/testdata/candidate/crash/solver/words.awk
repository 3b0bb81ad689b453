{ print
