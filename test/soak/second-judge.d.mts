export interface Verdict {
  readonly isLinearizable: boolean;
  readonly summary: string;
  readonly stories: readonly string[];
}

export function askPorcupine(program: string, history: string): Verdict;
