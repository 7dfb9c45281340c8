import type { KeyTurns } from './key-turns.js';

/** One of several calls that are carried out together, with whom to tell what came of it. */
export interface BatchedCall<Request, Reply> {
  readonly request: Request;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: unknown) => void;
}

/** Tells one of them what comes of it by itself; never rejects. */
export async function settle<Reply>(
  call: BatchedCall<unknown, Reply>,
  answer: Promise<Reply>,
): Promise<void> {
  try {
    call.resolve(await answer);
  } catch (error) {
    call.reject(error);
  }
}

interface Group<Request, Reply> {
  readonly kind: unknown;
  readonly calls: BatchedCall<Request, Reply>[];
  /** Of the lane. */
  turn: unknown;
}

/**
 * Carries out together what is of one kind, goes for one key and waits for its turn next to each other: many who come in
 * one moment then don't take one write to the log of etcd each.
 */
export class BatchedCalls<Request, Reply> {
  /** The last of each key, as long as it waits. */
  private readonly waiting = new Map<string, Group<Request, Reply>>();

  /**
   * @param most so many at most
   * @param carryOut tells each of the calls what came of it; those that it has not told by its end get its error
   */
  constructor(
    private readonly turns: KeyTurns,
    private readonly most: number,
    private readonly carryOut: (
      key: string,
      calls: readonly BatchedCall<Request, Reply>[],
    ) => Promise<unknown>,
  ) {}

  /** @param kind what has to be equal for calls to go together */
  call(key: string, kind: unknown, request: Request): Promise<Reply> {
    return new Promise<Reply>((resolve, reject) => {
      const call = { request, resolve, reject };
      const group = this.waiting.get(key);
      if (group !== undefined && group.kind === kind && this.hasRoom(key, group)) group.calls.push(call);
      else this.begin(key, { kind, calls: [call], turn: undefined });
    });
  }

  /** Not when anything else was asked about the key since: that comes before what is asked now. */
  private hasRoom(key: string, { calls, turn }: Group<Request, Reply>): boolean {
    return calls.length < this.most && turn === this.turns.lastOf(key);
  }

  private begin(key: string, group: Group<Request, Reply>): void {
    this.waiting.set(key, group);
    const carriedOut = this.turns.run(key, async () => {
      if (this.waiting.get(key) === group) this.waiting.delete(key);
      await this.carryOut(key, group.calls);
    });
    group.turn = this.turns.lastOf(key);
    carriedOut.catch((error: unknown) => {
      for (const { reject } of group.calls) reject(error);
    });
  }
}
