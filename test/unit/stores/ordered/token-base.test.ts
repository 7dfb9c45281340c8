import { describe, expect, it } from '@jest/globals';
import { TokenBase } from '../../../../lib/stores/ordered/token-base.js';

describe('the base of tokens', () => {
  it('F53: is raised above the tokens of revisions that this client has seen, though others may have used them', () => {
    const tokens = new TokenBase('base', '');
    expect(tokens.adopt('1000', 1)).toBeUndefined();
    tokens.saw(50);
    const raised = tokens.adopt('1000', 10);
    expect(Number(raised)).toBeGreaterThan(1000 + 50 * 128);
  });
});
