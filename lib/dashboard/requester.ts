const LONGEST = 200;
/** Where guards leave who it is. */
const NAMES = ['username', 'name', 'email', 'sub', 'id'] as const;

/** Who makes a request, for people: by the word of the application, or what guards usually leave, and the address. */
export function requesterOf(
  request: unknown,
  user: ((request: unknown) => string | undefined) | undefined,
): string {
  const { ip, user: left } = request as { readonly ip?: unknown; readonly user?: unknown };
  const address = typeof ip === 'string' ? ip : 'an unknown address';
  const name = user === undefined ? nameOf(left) : user(request);
  const requester = name === undefined || name === '' ? address : `${name} (${address})`;
  return requester.slice(0, LONGEST);
}

function nameOf(user: unknown): string | undefined {
  if (typeof user === 'string') return user;
  if (typeof user !== 'object' || user === null) return undefined;
  const facts = user as Partial<Record<(typeof NAMES)[number], unknown>>;
  for (const name of NAMES) {
    const value = facts[name];
    if (typeof value === 'string' || typeof value === 'number') return String(value);
  }
  return undefined;
}
