/** A plugin for TypeDoc: names entries as applications import them, and leaves out what applications do not call. */
import { Converter, ReflectionKind } from 'typedoc';
import { readManifest } from './manifest.mjs';

export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    const { name, exports } = readManifest();
    const entries = Object.keys(exports).map((entry) => entry.slice(2));
    for (const module of project.getReflectionsByKind(ReflectionKind.Module)) {
      const entry = entryOf(module.name, entries);
      module.name = entry === '' ? name : `${name}/${entry}`;
    }
    // Nest constructs what it injects, out of parts that are not public.
    for (const constructor of project.getReflectionsByKind(ReflectionKind.Constructor)) {
      const isOfParts = constructor.signatures?.some(({ parameters = [] }) => parameters.some(isNotPublic));
      if (isOfParts) project.removeReflection(constructor);
    }
  });
}

/** TypeDoc names modules by their folder below what they have in common: `index`, `leader`, `stores/port`. */
function entryOf(module, entries) {
  const last = module.replace(/\/?index$/, '').replace(/^.*\//, '');
  return last === 'port' ? 'store' : (entries.find((entry) => entry === last) ?? '');
}

/** Whether a parameter has a type of the package that no entry exports. */
function isNotPublic({ type }) {
  return type?.type === 'reference' && type.reflection === undefined && type.package === readManifest().name;
}
