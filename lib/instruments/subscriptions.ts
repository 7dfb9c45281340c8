import { subscribe, unsubscribe, type Channel, type ChannelListener } from 'node:diagnostics_channel';

/** Who listens to which channel, from the start to the end. */
export class Subscriptions {
  constructor(private readonly listeners: readonly (readonly [Pick<Channel, 'name'>, ChannelListener])[]) {}

  start(): void {
    for (const [{ name }, listener] of this.listeners) subscribe(name, listener);
  }

  stop(): void {
    for (const [{ name }, listener] of this.listeners) unsubscribe(name, listener);
  }
}
