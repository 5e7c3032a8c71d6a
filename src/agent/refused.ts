/** A rejected promise for an author: who awaits it hears of it, who does not is not killed by it. */
export function refused(reason: string): Promise<never> {
  const rejected = Promise.reject(new Error(reason))
  rejected.catch(() => {})
  return rejected
}
