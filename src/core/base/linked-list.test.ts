import { expect, test } from 'vitest'
import { Linked, LinkedList } from './linked-list.ts'

class Member extends Linked {
  readonly name: string

  constructor(name: string) {
    super()
    this.name = name
  }
}

function listOf(...names: readonly string[]) {
  const list = new LinkedList<Member>()
  const members = names.map((name) => new Member(name))
  for (const member of members) list.add(member)
  return { list, members, read: () => Array.from(list, ({ name }) => name) }
}

test('a list keeps the order in which members were added', () => {
  const { list, read } = listOf('a', 'b', 'c')
  expect(read()).toEqual(['a', 'b', 'c'])
  expect(list.isEmpty).toBe(false)
})

test.each([
  ['first', 0, ['b', 'c', 'd']],
  ['middle', 1, ['a', 'c', 'd']],
  ['last', 2, ['a', 'b', 'd']],
])('removing the %s member leaves the others in order', (_, index, rest) => {
  const { list, members, read } = listOf('a', 'b', 'c')
  const removed = members[index] as Member
  list.remove(removed)
  list.add(new Member('d'))
  expect(read()).toEqual(rest)
  expect(removed).toMatchObject({ previous: undefined, next: undefined })
})

test('a list without its last member is empty and can be filled again', () => {
  const { list, members, read } = listOf('a', 'b')
  for (const member of members) list.remove(member)
  expect(list.isEmpty).toBe(true)
  list.add(new Member('c'))
  expect(read()).toEqual(['c'])
})

test('members can be removed while the list is read', () => {
  const { list } = listOf('a', 'b', 'c')
  const names: string[] = []
  for (const member of list) {
    names.push(member.name)
    list.remove(member)
  }
  expect(names).toEqual(['a', 'b', 'c'])
  expect(list.isEmpty).toBe(true)
})
