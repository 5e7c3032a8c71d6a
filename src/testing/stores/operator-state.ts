import type { NewRecord, OperatorState } from '../../core/base/operator-state.ts'
import { expect } from './expect.ts'
import { type StoreTest, storeTest } from './store-test.ts'

/** What operators share. Every store that has it behaves like this. */
export function operatorStateTests<Store, Options = undefined>(
  stateOf: (store: Store) => OperatorState,
): readonly StoreTest<Store, Options>[] {
  const stateTest = (name: string, work: (state: OperatorState) => Promise<void>) =>
    storeTest<Store, Options>(name, (store) => work(stateOf(store)))

  return [
    stateTest('values are kept until they expire or are deleted', async ({ values }) => {
      const later = Date.now() + 60_000
      await values.set('session a', '{"text":"line\\nbreak"}', later)
      await values.set('session a', 'replaced\n', later)
      await values.set('session b', 'old', Date.now() - 1)
      expect(await values.get('session a')).toBe('replaced\n')
      expect(await values.get('session b')).toBeUndefined()
      await values.delete('session a')
      expect(await values.get('session a')).toBeUndefined()
    }),
    stateTest('records are numbered within their list, and each list keeps its newest', async ({ records }) => {
      const probes = (list: string, ...values: readonly string[]) => values.map((value) => record(list, value))
      await records.append('probe', [...probes('one', '1', '2'), ...probes('two', 'a\nb')], 3)
      await records.append('probe', probes('one', '3', '4', ''), 3)
      await records.append('envelope', probes('one', 'other'), 3)
      const one = await records.read('probe', { lists: ['one'], limit: 10 })
      expect(one.map(({ number, value }) => `${number} ${value}`)).toEqual(['3 3', '4 4', '5 '])
      expect(one[0]).toEqual({ list: 'one', number: 3, at: 1_000, value: '3' })
      expect(valuesOf(await records.read('probe', { lists: ['two', 'none'], limit: 10 }))).toEqual(['a\nb'])
      expect(valuesOf(await records.read('probe', { limit: 10 }))).toEqual(['a\nb', '3', '4', ''])
      expect(valuesOf(await records.read('probe', { limit: 2 }))).toEqual(['4', ''])
      expect(valuesOf(await records.read('probe', { lists: ['one'], after: 4, limit: 10 }))).toEqual([''])
      expect(await records.read('probe', { lists: [], limit: 10 })).toEqual([])
      expect(await records.read('delivery', { limit: 10 })).toEqual([])
    }),
    stateTest('more records than a list keeps leave the newest of them', async ({ records }) => {
      await records.append(
        'delivery',
        Array.from({ length: 5 }, (_, at) => record('r', `${at}`)),
        2,
      )
      const kept = await records.read('delivery', { lists: ['r'], limit: 10 })
      expect(kept.map(({ number, value }) => `${number} ${value}`)).toEqual(['4 3', '5 4'])
      await records.append('delivery', [], 2)
    }),
    stateTest('records that several processes append at once are all kept', async ({ records }) => {
      const names = Array.from({ length: 8 }, (_, at) => `process ${at}`)
      await Promise.all(names.map((name) => records.append('envelope', [record('', name), record('', name)], 100)))
      const kept = await records.read('envelope', { limit: 100 })
      expect(kept.map(({ number }) => number)).toEqual(Array.from({ length: 16 }, (_, at) => at + 1))
      expect(valuesOf(kept).sort()).toEqual([...names, ...names].sort())
    }),
    stateTest('old records and too many records of a kind are removed', async ({ records }) => {
      const at = (time: number) => ({ ...record(`list ${time}`, `${time}`), at: time })
      await records.append('probe', [at(1_000), at(2_000), at(3_000), at(4_000)], 10)
      await records.append('delivery', [at(1_000)], 10)
      await records.trim('probe', 2_000, 10)
      expect(valuesOf(await records.read('probe', { limit: 10 }))).toEqual(['2000', '3000', '4000'])
      await records.trim('probe', 0, 2)
      expect(valuesOf(await records.read('probe', { limit: 10 }))).toEqual(['3000', '4000'])
      expect(valuesOf(await records.read('delivery', { limit: 10 }))).toEqual(['1000'])
    }),
  ]
}

function record(list: string, value: string): NewRecord {
  return { list, at: 1_000, value }
}

export function valuesOf(records: readonly NewRecord[]): string[] {
  return records.map(({ value }) => value)
}
