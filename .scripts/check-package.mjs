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

/**
 * Whether npm would publish the tarball, as far as that can be known without a network. The tag is not `latest`, for which npm
 * asks the registry.
 */
function isPublishable(tarball) {
  const args = ['publish', tarball, '--dry-run', '--offline', '--tag', 'next', '--loglevel=error'];
  return spawnSync('npm', args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0;
}

function main() {
  ensureBuild();
  const folder = mkdtempSync(join(tmpdir(), 'nestjs-distributed-lock-pack-'));
  try {
    const tarball = packInto(folder);
    const checks = [
      ['publint', 'run', tarball, '--strict'],
      ['attw', tarball],
    ];
    for (const [tool, ...args] of checks) {
      const { status } = spawnSync(join(root, 'node_modules/.bin', tool), args, {
        cwd: root,
        stdio: 'inherit',
      });
      if (status !== 0) process.exitCode = 1;
    }
    if (!isPublishable(tarball)) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

main();
