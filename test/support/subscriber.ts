import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** Subscribes to a diagnostics channel while `work` runs. */
export async function withSubscriber(
  channel: string,
  listener: (message: never) => unknown,
  work: () => Promise<void>,
): Promise<void> {
  const receive = (message: unknown): void => void listener(message as never);
  subscribe(channel, receive);
  try {
    await work();
  } finally {
    unsubscribe(channel, receive);
  }
}
