/** Fetches Java libraries by Maven. Plain Node without dependencies. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** @returns {(folder: string) => boolean} whether a folder has a library whose file name starts like this */
export const hasLibrary = (start) => (folder) =>
  existsSync(folder) && readdirSync(folder).some((name) => name.startsWith(start) && name.endsWith('.jar'));

/** Whether a command succeeds. */
export function works(command, ...args) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

/**
 * Fetches libraries into a folder by Maven, atomically.
 *
 * @param {readonly (readonly [group: string, artifact: string, version: string])[]} libraries
 * @returns {boolean} whether it succeeded
 */
export function fetchLibraries(libraries, folder, isWhole, log) {
  if (!works('mvn', '--version')) return false;
  const [[, name]] = libraries;
  log(`Fetching ${name} …`);
  const draft = `${folder}.${process.pid}`;
  try {
    mkdirSync(draft, { recursive: true });
    const dependencies = libraries.map(
      ([group, artifact, version]) =>
        `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`,
    );
    writeFileSync(
      join(draft, 'pom.xml'),
      '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>' +
        '<groupId>tests</groupId><artifactId>libraries</artifactId><version>1</version>' +
        `<dependencies>${dependencies.join('')}</dependencies></project>`,
    );
    const fetched = join(draft, 'libraries');
    const args = ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${fetched}`];
    spawnSync('mvn', args, { cwd: draft, stdio: 'ignore' });
    if (!isWhole(fetched)) return false;
    rmSync(folder, { recursive: true, force: true });
    renameSync(fetched, folder);
    return true;
  } catch (error) {
    log(`${name} could not be fetched: ${error.message}`);
    return false;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}
