import type { CommandArguments } from '../command-arguments.js';
import { shellWord } from '../output/printable.js';

/**
 * The options that say where the locks are, as they were given, for another command line. An address with what may be a
 * password is left out, since others can see the arguments of a program; the environment needs no words.
 */
export function placeWords(args: CommandArguments): readonly string[] {
  const urls = args.texts('redis');
  const mayBeTold = !urls.some((url) => /[@?]/.test(url));
  return [
    ...(mayBeTold ? urls : []).flatMap((url) => option('redis', url)),
    ...(args.flag('cluster') ? ['--cluster'] : []),
    ...['sentinel', 'key-prefix', 'config'].flatMap((name) => option(name, args.text(name))),
  ];
}

function option(name: string, value: string | undefined): readonly string[] {
  const word = value === undefined ? undefined : shellWord(value);
  return word === undefined ? [] : [`--${name}`, word];
}
