import { createServer, type Server } from 'node:http';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';

const dist = join(import.meta.dirname, '../../docs/.vitepress/dist');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.png': 'image/png',
};

/** Serves what `npm run docs:test` built, as GitHub Pages does: `/guides/testing` is the file `guides/testing.html`. */
export class BuiltSite {
  private constructor(
    private readonly server: Server,
    /** The path that all addresses start with. */
    readonly base: string,
  ) {}

  static async serve(): Promise<BuiltSite> {
    const base = process.env['SITE_BASE'];
    if (base === undefined || !existsSync(dist))
      throw new Error('The site is not built: run "npm run docs:test".');
    const server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? '/', 'http://localhost');
      const file = fileOf(decodeURIComponent(pathname), base);
      response.writeHead(file === undefined ? 404 : 200, {
        'content-type': TYPES[extname(file ?? '.html')] ?? 'application/octet-stream',
      });
      response.end(readFileSync(file ?? join(dist, '404.html')));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new BuiltSite(server, base);
  }

  /** The address of a path below the base. */
  url(path: string): URL {
    const { port } = this.server.address() as AddressInfo;
    return new URL(this.base + path.replace(/^\//, ''), `http://127.0.0.1:${port}`);
  }

  /** The paths of all pages, below the base. */
  paths(): string[] {
    return readdirSync(dist, { recursive: true, encoding: 'utf8' })
      .map((file) => file.replaceAll('\\', '/'))
      .filter((file) => file.endsWith('.html') && file !== '404.html')
      .map((file) => `/${file.replace(/(^|\/)index\.html$/, '$1').replace(/\.html$/, '')}`)
      .sort();
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

function fileOf(path: string, base: string): string | undefined {
  if (!path.startsWith(base) || path.includes('..')) return undefined;
  const file = join(dist, path.slice(base.length));
  const candidates = path.endsWith('/') ? [join(file, 'index.html')] : [file, `${file}.html`];
  return candidates.find((candidate) => existsSync(candidate) && statSync(candidate).isFile());
}
