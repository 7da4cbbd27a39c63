"""Draw the SM of compute capability 8.0 as draw_sm_90.py draws its own."""

from draw_sm_90 import figure

if __name__ == "__main__":
    print(figure("8.0"))
