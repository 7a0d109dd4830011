/* mkl_every_cpu.c - loaded before MKL (LD_PRELOAD): its kernels for AVX2 and AVX-512 run on every CPU that has these, not
 * on Intel's alone. */
int mkl_serv_intel_cpu_true(void);

int mkl_serv_intel_cpu_true(void) { return 1; }
