export interface Member {
  readonly name: string;
}

/** Three servers that need a majority. */
export declare abstract class Members {
  members: Member[];
  abstract leader(): Promise<Member | undefined>;
  abstract served(): Promise<void>;
  abstract areServing(members: readonly Member[]): Promise<boolean>;
  outageWithout(
    members: readonly Member[],
    record: (event: { readonly e: string; readonly from: number }) => void,
  ): Promise<() => void>;
}
