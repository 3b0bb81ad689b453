package sandbox

const initMachine = 183 // EM_AARCH64
