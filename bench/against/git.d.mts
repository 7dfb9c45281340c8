export declare function git(
  args: readonly string[],
  options?: { readonly cwd?: string },
): { readonly ok: boolean; readonly output: string; readonly error: string };
