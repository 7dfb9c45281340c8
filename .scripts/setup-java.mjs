/** Fetches Java libraries by Maven. Plain Node without dependencies. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createFolder } from './unpacked-programs.mjs';

/** @returns {(folder: string) => boolean} whether a folder has a library whose file name starts like this */
export const hasLibrary = (start) => (folder) =>
  existsSync(folder) && readdirSync(folder).some((name) => name.startsWith(start) && name.endsWith('.jar'));

/** Whether a command succeeds. */
export function works(command, ...args) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

/**
 * Fetches libraries into a folder by Maven.
 *
 * @param {readonly (readonly [group: string, artifact: string, version: string])[]} libraries
 * @returns {boolean} whether it succeeded
 */
export function fetchLibraries(libraries, folder, isWhole, log) {
  if (!works('mvn', '--version')) return false;
  const [[, name]] = libraries;
  log(`Fetching ${name} …`);
  const dependencies = libraries.map(
    ([group, artifact, version]) =>
      `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`,
  );
  const project =
    '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>' +
    '<groupId>tests</groupId><artifactId>libraries</artifactId><version>1</version>' +
    `<dependencies>${dependencies.join('')}</dependencies></project>`;
  try {
    return createFolder(folder, (draft) => {
      writeFileSync(join(draft, 'pom.xml'), project);
      const fetched = join(draft, 'libraries');
      const args = ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${fetched}`];
      spawnSync('mvn', args, { cwd: draft, stdio: 'ignore' });
      return isWhole(fetched) && fetched;
    });
  } catch (error) {
    log(`${name} could not be fetched: ${error.message}`);
    return false;
  }
}
