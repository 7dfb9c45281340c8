/** The used parts of packages that samples import and this project does not install. */
declare module 'pg' {
  export interface PoolClient {
    query<Row>(
      text: string,
      values?: readonly (string | Row[keyof Row])[],
    ): Promise<{ readonly rows: readonly Row[] }>;
    query(text: string, values?: readonly unknown[]): Promise<object>;
    release(): void;
  }
  export class Pool {
    connect(): Promise<PoolClient>;
    query<Row>(
      text: string,
      values: readonly unknown[],
    ): Promise<{ readonly rows: readonly Row[]; readonly rowCount: number | null }>;
  }
}

declare module '@nestjs-cls/transactional' {
  export function Transactional(): MethodDecorator;
}
