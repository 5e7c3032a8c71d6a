import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from '@tanstack/virtual-core'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks'

interface VirtualListProps {
  readonly count: number
  /** Identifies the item at an index. Must stay the same function while the items do: another one measures all again. */
  readonly keyOf: (index: number) => string | number
  readonly render: (index: number) => ComponentChildren
  /** The usual height of an item in pixels. Real heights are measured. */
  readonly estimate: number
  readonly label: string
  readonly class?: string
  /** Called when the last item comes near, so that more can be loaded. */
  readonly onEnd?: () => void
  /** Whether the list stays at its end while items are added, until the person scrolls up. */
  readonly followsEnd?: boolean
  /** The index of the item that is in sight at first. */
  readonly startAt?: number
  /** Where the list was scrolled to before, in pixels. */
  readonly startOffset?: number
  /** Called when a person scrolls: whether the first item is in sight, and how far the list is scrolled. */
  readonly onScroll?: (isAtStart: boolean, offset: number) => void
  /** Another value scrolls to the first item. */
  readonly startKey?: number
}

/** A scrolling list of any length, which renders only the items that are visible. */
export function VirtualList({
  count,
  keyOf,
  render,
  estimate,
  label,
  onEnd,
  followsEnd,
  startAt,
  startOffset,
  onScroll,
  startKey = 0,
  ...rest
}: VirtualListProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const [, update] = useReducer((version: number) => version + 1, 0)
  const options: VirtualizerOptions<HTMLDivElement, HTMLElement> = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => estimate,
    getItemKey: keyOf,
    overscan: 8,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => update(undefined),
  }
  const [virtualizer] = useState(() => new Virtualizer(options))
  virtualizer.setOptions(options)
  useLayoutEffect(() => virtualizer._didMount(), [virtualizer])
  useLayoutEffect(() => virtualizer._willUpdate())
  useLayoutEffect(() => {
    if (startAt !== undefined && startAt < count) virtualizer.scrollToIndex(startAt, { align: 'center' })
    if (startOffset !== undefined) virtualizer.scrollToOffset(startOffset)
  }, [virtualizer])
  useLayoutEffect(() => {
    if (startKey > 0) virtualizer.scrollToOffset(0)
  }, [startKey])
  const items = virtualizer.getVirtualItems()
  const size = virtualizer.getTotalSize()
  const last = items.at(-1)?.index ?? -1
  useLayoutEffect(() => {
    if (last >= count - 10 && count > 0) onEnd?.()
  }, [last, count, onEnd])
  useLayoutEffect(() => {
    const element = scroller.current
    if (followsEnd && isAtEnd.current && element && size > 0) element.scrollTop = element.scrollHeight
  }, [followsEnd, size])
  return (
    <div
      ref={scroller}
      class={`virtual-list ${rest.class ?? ''}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 40
        onScroll?.(scrollTop < 4, scrollTop)
      }}
    >
      <ul class="plain virtual-list-space" aria-label={label} style={{ height: `${size}px` }}>
        {items.map(({ key, index, start }) => (
          <li
            key={key}
            class="virtual-list-item"
            data-index={index}
            ref={(element) => virtualizer.measureElement(element)}
            style={{ transform: `translateY(${start}px)` }}
          >
            {render(index)}
          </li>
        ))}
      </ul>
    </div>
  )
}
