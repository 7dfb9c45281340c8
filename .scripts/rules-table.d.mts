interface TestFile {
  readonly testFilePath: string;
  readonly testResults: readonly {
    readonly title: string;
    readonly ancestorTitles: readonly string[];
    readonly status: string;
  }[];
}

export type RuleCounts = ReadonlyMap<
  string,
  {
    readonly stores: readonly string[];
    readonly rows: ReadonlyMap<
      string,
      ReadonlyMap<string, { readonly passed: number; readonly failed: number }>
    >;
  }
>;

export declare function countRules(files: readonly TestFile[]): RuleCounts;
export declare function rulesTable(tables: RuleCounts, rules?: string): string;
