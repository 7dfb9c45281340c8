interface Processor {
  readonly times: Readonly<Record<string, number>>;
}

export declare function shareInUse(before: readonly Processor[], after: readonly Processor[]): number;
export declare function othersShare(): Promise<number>;
