/** Bytes in use after garbage collection, which is repeated, since finalizers free more. Needs `--expose-gc`. */
export async function heapUsed() {
  for (let i = 0; i < 3; i++) {
    globalThis.gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed: used, external } = process.memoryUsage();
  return { used, external };
}
