import { WorkerProcess } from '../support/worker-process.js';

/** The monotonic clock of the machine, ms. */
export function machineNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** @param options module options, or those that worker-options.mjs turns into them */
export function startClient(options: object): Promise<WorkerProcess> {
  return WorkerProcess.start(options, { isQuiet: true });
}

export async function endClient(client: WorkerProcess): Promise<void> {
  await client.closeAndExit(15_000).catch(() => client.kill());
}
