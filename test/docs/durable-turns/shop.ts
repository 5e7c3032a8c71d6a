// shop.ts
/** The shop of the order example, which records its calls. */
export const calls: string[] = []

export const shop = {
  async reserve(item: string) {
    calls.push(`reserve ${item}`)
    return { id: 'r-1', until: new Date(Date.now() + 60_000).toISOString() }
  },
  async charge(reservation: string, payment: string) {
    calls.push(`charge ${reservation} by ${payment}`)
  },
}
