import type { Redis } from 'ioredis';
import { inMs } from '../../../common/durations.js';
import { ReplyTimeout } from '../../port/times.js';

/**
 * Closes a connection that owes a reply for too long, so that ioredis opens another one. The option `socketTimeout` of
 * ioredis also closes it when this process was busy.
 */
export class ReplyWatch {
  /** Requests without a reply. */
  private due = 0;
  private isOpen = false;
  /** Pending work that sends commands without this class. */
  private works = 0;
  private nextProbe: NodeJS.Timeout | undefined;
  private readonly timeout: ReplyTimeout;

  /** @param requestTimeout ms */
  constructor(
    private readonly redis: Redis,
    private readonly requestTimeout: number,
    onOverdue: (error: Error) => void,
  ) {
    this.timeout = new ReplyTimeout(requestTimeout, () => {
      onOverdue(new Error(`no answer within ${inMs(requestTimeout)}`));
      redis.disconnect(true);
    });
    let over = (): void => undefined;
    redis.on('connect', () => {
      this.isOpen = true;
      // ioredis sets up the connection, and waits while the server loads its data.
      void this.during(new Promise<void>((resolve) => (over = resolve)));
    });
    redis.on('ready', () => over());
    redis.on('close', () => {
      over();
      this.isOpen = false;
      this.timeout.stop();
    });
  }

  /** A request was sent. Its outcome is reported by `ended()`. */
  sent(): void {
    this.due += 1;
    if (this.due === 1 && this.isOpen) this.timeout.start();
  }

  ended(): void {
    this.due -= 1;
    if (!this.isOpen) return;
    if (this.due > 0) this.timeout.start();
    else this.timeout.pause();
  }

  /** Watches one request. */
  async request<T>(reply: PromiseLike<T>): Promise<T> {
    this.sent();
    try {
      return await reply;
    } finally {
      this.ended();
    }
  }

  /** Watches work that sends commands on this connection without this class. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.works += 1;
    if (this.works === 1) void this.probe();
    try {
      return await work;
    } finally {
      this.works -= 1;
      if (this.works === 0) clearTimeout(this.nextProbe);
    }
  }

  /** The server replies in order, so an overdue reply to this command shows that those before it are overdue, too. */
  private async probe(): Promise<void> {
    try {
      await this.request(this.redis.info('server'));
    } catch {
      // An error is a reply as well; a lost connection ends the work.
    }
    if (this.works > 0) this.nextProbe = setTimeout(() => void this.probe(), this.requestTimeout);
  }
}
