/** What the orders of the guide are made with. */
export const calls: string[] = []

export const shop = {
  async reserve(what: string) {
    calls.push(`reserve ${what}`)
    return { id: 'r-1', until: new Date(Date.now() + 60_000).toISOString() }
  },
  async charge(reservation: string, payment: string) {
    calls.push(`charge ${reservation} by ${payment}`)
  },
}
