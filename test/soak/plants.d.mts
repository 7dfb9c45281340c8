/** The part of a build that planting a bug needs. */
export interface ChangeableBuild {
  filesIn(folder: string): string[];
  read(file: string): string | undefined;
  write(file: string, text: string): void;
}

/** @param of a store, or `leader` */
export function plantNames(of: string): string[];
export function plantOf(
  of: string,
  name: string,
): { readonly about: string; readonly finds: readonly string[]; into(build: ChangeableBuild): void };
