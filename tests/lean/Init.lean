prelude
import Init.Facts
