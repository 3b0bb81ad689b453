sleep 31.41
