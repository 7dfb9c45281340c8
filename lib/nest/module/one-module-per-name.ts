import 'reflect-metadata';
import type { InjectionToken } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';
import { LockOptionsError } from '../../model/lock.errors.js';

/** Where `@Module` keeps its imports. */
const IMPORTS = 'imports';

export type AnyModule = ModulesContainer extends Map<string, infer M> ? M : never;

/**
 * Refuses a second lock module of the same name, or without one, in an application. Each would have holds of its own, so
 * that code which takes a key through one and again through the other waits for itself.
 *
 * @param marker what only lock modules provide
 * @param service what their service is provided under
 */
export function refuseNamesakes(
  modules: ModulesContainer,
  marker: InjectionToken,
  service: InjectionToken,
  name: string | undefined,
): void {
  const all = [...modules.values()];
  const namesakes = all.filter(({ providers }) => providers.has(marker) && providers.has(service));
  if (namesakes.length < 2) return;

  const importers = all.filter((module) => namesakes.some((namesake) => declares(module, namesake)));
  const places = importers.map((module) => module.name).join(' and ');
  throw new LockOptionsError(
    `DistributedLockModule is imported twice ${name === undefined ? 'without a name' : `with the name '${name}'`}` +
      `${places === '' ? '' : `: into ${places}`}. Each would keep locks of its own, and nested calls would wait for ` +
      'themselves. Import it once into the root module, where it serves all modules, or give each further one a name ' +
      "of its own: forRoot({ name: '…', … }).",
  );
}

/** Whether a module says so itself. Global ones are imported by all the others, after what these say. */
function declares(module: AnyModule, imported: AnyModule): boolean {
  const declared = (Reflect.getMetadata(IMPORTS, module.metatype) ?? []) as readonly unknown[];
  return [...module.imports].slice(0, declared.length).includes(imported);
}
