export interface Check {
  readonly what: string;
  readonly value: number | null;
  readonly measured: string;
  readonly goal: string;
  readonly ratio: number | null;
  readonly reached: boolean | null;
  readonly verdict: string;
}

interface Text {
  readonly unit?: string;
  readonly measured?: string;
}

export declare function atLeast(what: string, value: number, goal: number, text?: Text): Check;
export declare function above(what: string, value: number, goal: number, text?: Text): Check;
export declare function atMost(what: string, value: number, goal: number, text?: Text): Check;
export declare function information(what: string, measured: string, value?: number | null): Check;
export declare function mostToLeast(
  which: string,
  turns: {
    readonly least: number;
    readonly most: number;
    readonly ratio: number;
    readonly withoutAny: number;
  },
  goal: number,
): Check;
