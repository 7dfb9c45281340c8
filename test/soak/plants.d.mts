/** The part of a build that planting a bug needs. */
export interface ChangeableBuild {
  filesIn(folder: string): string[];
  read(file: string): string | undefined;
  write(file: string, text: string): void;
}

export function plantNames(store: string): string[];
export function plantOf(
  store: string,
  name: string,
): { readonly about: string; readonly finds: readonly string[]; into(build: ChangeableBuild): void };
