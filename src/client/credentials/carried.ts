export { authorizing } from './authorize.ts'

export { byCard } from './by-card.ts'
