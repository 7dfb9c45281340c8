export interface LockedPackage {
  readonly version?: string;
  readonly link?: boolean;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
  readonly peer?: boolean;
}

export declare function holdsAllOf(
  installed: Readonly<Record<string, LockedPackage>>,
  wanted: Readonly<Record<string, LockedPackage>>,
): boolean;
