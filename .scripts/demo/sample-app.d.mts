import type { Leftovers, Started } from './leftovers.mjs';

export interface Instance extends Started {
  readonly name: string;
  readonly url: string;
}

export declare const sampleApp: string;

export declare function prepareSampleApp(options: {
  leftovers: Leftovers;
  log: (line: string) => void;
}): Promise<void>;

export declare function startInstance(options: {
  name: string;
  env: Readonly<Record<string, string>>;
  leftovers: Leftovers;
}): Promise<Instance>;
