import { Script } from './script.js';

/** A command that was refused, and why. */
export interface RefusedCommand {
  readonly command: string;
  readonly error: string;
}

export const checkScript = new Script({
  name: 'check',
  keys: ['hash', 'sorted'],
  args: ['way', 'channel'],
  decode(reply): readonly RefusedCommand[] {
    const words = reply as readonly string[];
    const refused: RefusedCommand[] = [];
    for (let i = 0; i + 1 < words.length; i += 2) {
      refused.push({ command: words[i] ?? '', error: words[i + 1] ?? '' });
    }
    return refused;
  },
});
