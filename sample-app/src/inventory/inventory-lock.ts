/** The lock of one article. Whoever changes its stock holds it, wherever in the code that is. */
export const inventoryLock = (sku: string): string => `inventory:${sku}`;
