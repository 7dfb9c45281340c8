/** `npm run check:package`: packs the package as for publication, and checks the tarball with publint and attw, and tries to publish it. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureBuild } from './setup.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Packs the package without building it again. Returns the path of the tarball. */
function packInto(folder) {
  const args = ['pack', '--ignore-scripts', '--json', '--loglevel=error', '--pack-destination', folder];
  const report = JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8' }));
  const [packed] = Array.isArray(report) ? report : Object.values(report);
  return join(folder, packed.filename);
}

function main() {
  ensureBuild();
  const folder = mkdtempSync(join(tmpdir(), 'nestjs-distributed-lock-pack-'));
  try {
    const tarball = packInto(folder);
    const bin = join(root, 'node_modules/.bin');
    const checks = [
      [join(bin, 'publint'), 'run', tarball, '--strict'],
      [join(bin, 'attw'), tarball],
      // As far as it works without a network. The tag is not `latest`, for which npm asks the registry.
      ['npm', 'publish', tarball, '--dry-run', '--offline', '--tag', 'next', '--loglevel=error'],
    ];
    for (const [tool, ...args] of checks) {
      const { status } = spawnSync(tool, args, { cwd: root, stdio: 'inherit' });
      if (status !== 0) process.exitCode = 1;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

main();
