import { expect, it } from '@jest/globals';
import { doubledHolds } from '../../figures/doubled-holds.js';

const hold = (key: string, token: number, from: number, to: number) => ({ key, token, from, to });

it('counts neither consecutive holds nor holds of different keys', () => {
  const holds = [hold('a', 2, 10, 20), hold('a', 1, 0, 10), hold('b', 1, 5, 15)];
  expect(doubledHolds(holds)).toEqual({ fenced: 0, unfenced: 0 });
});

it('counts each pair of overlapping holds of a key, by whether their tokens reveal it', () => {
  const holds = [hold('a', 1, 0, 100), hold('a', 3, 50, 60), hold('a', 2, 55, 70), hold('a', 4, 90, 95)];
  expect(doubledHolds(holds)).toEqual({ fenced: 3, unfenced: 1 });
});
