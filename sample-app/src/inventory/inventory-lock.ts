/** The lock of one article. All code that changes its stock must hold it. */
export const inventoryLock = (sku: string): string => `inventory:${sku}`;
