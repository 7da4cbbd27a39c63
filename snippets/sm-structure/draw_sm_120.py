"""Draw the SM of compute capability 12.0 as draw_sm_90.py draws its own."""

from draw_sm_90 import figure

if __name__ == "__main__":
    print(figure("12.0"))
