package sandbox

const initMachine = 62 // EM_X86_64
