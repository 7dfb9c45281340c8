/** Lets the parent process call functions of this process. Ends this process with its parent. */
export function serve(functions) {
  const answer = async ({ id, method, args }) => {
    try {
      process.send({ id, result: await functions[method](...args) });
    } catch (error) {
      process.send({ id, error: error instanceof Error ? error.stack : String(error) });
    }
  };
  process.on('message', (message) => void answer(message));
  process.on('disconnect', () => process.exit());
}
