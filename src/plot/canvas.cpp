#include "plot/canvas.hpp"

#include <algorithm>
#include <cmath>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <vector>

namespace lingbot_map {
namespace {

constexpr int kOversampling = 4;
constexpr int kShift = 6;  // fractional bits of OpenCV's coordinates
constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;
constexpr double kCapitals = 21;      // height of the font's capitals at scale 1
constexpr double kFarthest = 20'000;  // pixels; beyond, OpenCV's coordinates would overflow

cv::Scalar scalar(Colour colour) { return {double(colour[0]), double(colour[1]), double(colour[2])}; }

int fixed(double pixels) {
  return static_cast<int>(std::lround(std::clamp(pixels, -kFarthest, kFarthest) * kOversampling * (1 << kShift)));
}
cv::Point point(Place place) { return {fixed(place.x), fixed(place.y)}; }
int whole(double pixels) { return std::max(static_cast<int>(std::lround(pixels * kOversampling)), 1); }
cv::Point corner(Place place) {
  return {cvRound(std::clamp(place.x, -kFarthest, kFarthest) * kOversampling),
          cvRound(std::clamp(place.y, -kFarthest, kFarthest) * kOversampling)};
}

/// Strokes are a tenth of the height of capitals, a sixth if bold.
int stroke(double size, bool bold) { return whole(size * (bold ? 0.17 : 0.115)); }
double font_scale(double size) { return size * kOversampling / kCapitals; }

double left_end(Anchor anchor, double width) {
  switch (anchor) {
    case Anchor::left: return 0;
    case Anchor::centre: return width / 2;
    default: return width;
  }
}

void put_text(cv::Mat& mat, Place place, const std::string& text, double size, Colour colour, bool bold) {
  cv::putText(mat, text, corner(place), kFont, font_scale(size), scalar(colour), stroke(size, bold), cv::LINE_AA);
}

}  // namespace

struct Canvas::Sheet {
  cv::Mat mat;
};

Canvas::Canvas(int width, int height) : width_(width), height_(height), sheet_(std::make_unique<Sheet>()) {
  sheet_->mat = cv::Mat(height * kOversampling, width * kOversampling, CV_8UC3, cv::Scalar::all(255));
}
Canvas::~Canvas() = default;
Canvas::Canvas(Canvas&&) noexcept = default;
Canvas& Canvas::operator=(Canvas&&) noexcept = default;

void Canvas::line(Place from, Place to, Colour colour, double thickness) {
  cv::line(sheet_->mat, point(from), point(to), scalar(colour), whole(thickness), cv::LINE_AA, kShift);
}

void Canvas::polyline(std::span<const Place> places, Colour colour, double thickness) {
  std::vector<cv::Point> points(places.size());
  std::ranges::transform(places, points.begin(), point);
  cv::polylines(sheet_->mat, points, false, scalar(colour), whole(thickness), cv::LINE_AA, kShift);
}

void Canvas::dashed_line(Place from, Place to, Colour colour, double thickness) {
  constexpr double kDash = 7;
  constexpr double kGap = 5;
  const double length = std::hypot(to.x - from.x, to.y - from.y);
  const auto at = [&](double along) {
    const double share = std::min(along / length, 1.0);
    return Place{std::lerp(from.x, to.x, share), std::lerp(from.y, to.y, share)};
  };
  for (double along = 0; along < length; along += kDash + kGap) line(at(along), at(along + kDash), colour, thickness);
}

void Canvas::fill(Place one, Place opposite, Colour colour) {
  cv::rectangle(sheet_->mat, corner(one), corner(opposite), scalar(colour), cv::FILLED);
}

void Canvas::disc(Place centre, double radius, Colour colour, Colour rim) {
  cv::circle(sheet_->mat, point(centre), fixed(radius + 1.5), scalar(rim), cv::FILLED, cv::LINE_AA, kShift);
  cv::circle(sheet_->mat, point(centre), fixed(radius), scalar(colour), cv::FILLED, cv::LINE_AA, kShift);
}

void Canvas::square(Place centre, double half_side, Colour colour, Colour rim) {
  for (const auto& [half, fill_colour] : {std::pair(half_side + 1.5, rim), std::pair(half_side, colour)})
    fill({centre.x - half, centre.y - half}, {centre.x + half, centre.y + half}, fill_colour);
}

double Canvas::text_width(const std::string& text, double size) {
  int baseline = 0;
  return static_cast<double>(cv::getTextSize(text, kFont, font_scale(size), stroke(size, false), &baseline).width) /
         kOversampling;
}

void Canvas::text(Place place, Anchor anchor, const std::string& text, double size, Colour colour, bool bold) {
  put_text(sheet_->mat, {place.x - left_end(anchor, text_width(text, size)), place.y + size / 2}, text, size, colour,
           bold);
}

void Canvas::upward_text(Place place, Anchor anchor, const std::string& text, double size, Colour colour) {
  // Written on a sheet of its own, turned, and laid over this one where it is darker.
  const double text_length = text_width(text, size);
  const double margin = size;
  cv::Mat strip(whole(size + 2 * margin), whole(text_length + 2 * margin), CV_8UC3, cv::Scalar::all(255));
  put_text(strip, {margin, size + margin}, text, size, colour, false);
  cv::Mat turned;
  cv::rotate(strip, turned, cv::ROTATE_90_COUNTERCLOCKWISE);
  const double below = text_length - left_end(anchor, text_length);  // of the text's left end, which is its lower one
  const cv::Point upper_left = corner({place.x - size / 2 - margin, place.y - below - margin});
  const cv::Rect inside = cv::Rect(upper_left, turned.size()) & cv::Rect({0, 0}, sheet_->mat.size());
  if (inside.empty()) return;
  cv::Mat target = sheet_->mat(inside);
  cv::min(target, turned(inside - upper_left), target);
}

Image Canvas::finish() const {
  Image image(width_, height_);
  cv::Mat reduced(height_, width_, CV_8UC3, image.pixels.data());
  cv::resize(sheet_->mat, reduced, reduced.size(), 0, 0, cv::INTER_AREA);
  return image;
}

}  // namespace lingbot_map
