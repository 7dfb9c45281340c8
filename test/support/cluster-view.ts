/** A node as another node (or the node itself) sees it. */
export interface SeenNode {
  readonly port: number;
  readonly isPrimary: boolean;
  readonly inHandshake: boolean;
  /** If two nodes claim a slot, the one with the higher epoch has it. */
  readonly epoch: number;
  readonly slots: SlotSet;
}

export interface ClusterView {
  readonly nodes: readonly SeenNode[];
}

/** Ranges of slots. */
export class SlotSet {
  constructor(private readonly ranges: readonly (readonly [first: number, last: number])[]) {}

  get size(): number {
    return this.ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  }

  has(slot: number): boolean {
    return this.ranges.some(([first, last]) => first <= slot && slot <= last);
  }
}

/** Parses the reply to CLUSTER NODES. */
export function clusterViewOf(text: string): ClusterView {
  return { nodes: text.split('\n').filter(Boolean).map(nodeOf) };
}

/** `id host:port@bus,name flags primary ping pong epoch link slot first-last [slot->-id] …` */
function nodeOf(line: string): SeenNode {
  const [, address = '', flags = '', , , , epoch = '', , ...slots] = line.trim().split(' ');
  // In brackets: a migrating slot, which belongs to the node that lists it without brackets.
  const ranges = slots.filter((range) => !range.startsWith('['));
  return {
    port: Number(/:(\d+)/.exec(address)?.[1]),
    isPrimary: flags.split(',').includes('master'),
    inHandshake: flags.split(',').includes('handshake'),
    epoch: Number(epoch),
    slots: new SlotSet(
      ranges.map((range) => {
        const [first = '', last = first] = range.split('-');
        return [Number(first), Number(last)] as const;
      }),
    ),
  };
}
