/** What is done when a call has failed. Where it cannot be loaded, as offline in a browser, the failure is the end. */
export function onTrouble(): Promise<typeof import('./trouble.ts') | undefined> {
  return import('./trouble.ts').catch(() => undefined)
}
