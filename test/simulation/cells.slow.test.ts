import { expect, it } from 'vitest'
import { type CellTally, cellOf, idleSeconds, simulateCells } from './cells.ts'

const tenants = 40
const tasksPerTenant = 2
const tasks = tenants * tasksPerTenant

const total = (tallies: readonly CellTally[], count: (tally: CellTally) => number) =>
  tallies.reduce((sum, tally) => sum + count(tally), 0)

/** What replicas ask for at intervals, whether there are calls or not. */
const background = ['orphans', 'expire', 'forget', 'renew']

const requestsOf = ({ requests }: CellTally) =>
  Object.entries(requests).reduce((sum, [name, count]) => (background.includes(name) ? sum : sum + count), 0)

it('1,000 replicas send the same requests per task in one cell and in twenty, and twenty times fewer notifications', async () => {
  const one = await simulateCells({ cells: 1, replicas: 1_000, tenants, tasksPerTenant })
  const twenty = await simulateCells({ cells: 20, replicas: 50, tenants, tasksPerTenant })
  for (const tallies of [one, twenty]) {
    expect(total(tallies, ({ answered }) => answered)).toBe(tasks)
    expect(total(tallies, ({ rows }) => rows.tasks)).toBe(tasks)
    expect(total(tallies, requestsOf) / tasks).toBeLessThanOrEqual(2)
  }
  expect(total(twenty, requestsOf)).toBe(total(one, requestsOf))
  expect(total(twenty, ({ rows }) => rows.events)).toBe(total(one, ({ rows }) => rows.events))
  const notifications = [one, twenty].map((tallies) => total(tallies, (tally) => tally.notifications) / tasks)
  expect(notifications).toEqual([999, 49])
  console.table(
    [one, twenty].map((tallies) => ({
      cells: tallies.length,
      'requests per task': total(tallies, requestsOf) / tasks,
      'rows per task': total(tallies, ({ rows }) => rows.tasks + rows.events) / tasks,
      'notifications per task': total(tallies, (tally) => tally.notifications) / tasks,
      'idle requests per second and store':
        total(tallies, (tally) => tally.idleRequests) / tallies.length / idleSeconds,
    })),
  )
}, 60_000)

it('a tenant has rows in its own cell alone, and a lost cell stops no tenant of another', async () => {
  const cells = 10
  const tallies = await simulateCells({ cells, replicas: 5, tenants, tasksPerTenant, lostCell: 3 })
  for (const [cell, tally] of tallies.entries()) {
    for (const tenant of tally.tenants) expect(cellOf(tenant, cells)).toBe(cell)
    expect(tally.answered).toBe(tally.sent)
    if (cell !== 3) expect(tally.sent).toBe(tally.tenants.size * tasksPerTenant)
  }
})
