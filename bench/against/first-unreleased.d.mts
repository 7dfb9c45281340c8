export type Git = (args: string[]) => { readonly ok: boolean; readonly output: string };

export declare function beforeFirstUnreleased(
  changelog: string,
  git: Git,
): { readonly commit: string } | { readonly none: string };
