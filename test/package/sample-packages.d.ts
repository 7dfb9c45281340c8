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
      values: readonly (string | number | Row[keyof Row])[],
    ): Promise<{ readonly rows: readonly Row[]; readonly rowCount: number | null }>;
  }
}

declare module '@nestjs-cls/transactional' {
  export function Transactional(): MethodDecorator;
}

declare module '@aws-crypto/sha256-js' {
  export class Sha256 {}
}

declare module '@aws-sdk/credential-provider-node' {
  export function defaultProvider(): () => Promise<object>;
}

declare module '@aws-sdk/util-format-url' {
  export function formatUrl(request: object): string;
}

declare module '@smithy/signature-v4' {
  export class SignatureV4 {
    constructor(options: { service: string; region: string; credentials: object; sha256: object });
    presign(
      request: {
        readonly method: string;
        readonly protocol: string;
        readonly hostname: string;
        readonly path: string;
        readonly headers: Readonly<Record<string, string>>;
        readonly query: Readonly<Record<string, string>>;
      },
      options: { readonly expiresIn: number },
    ): Promise<object>;
  }
}
